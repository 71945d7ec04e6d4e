"""What can be bought and downloaded: machine sizes of the clouds, and published programs with their digests."""
