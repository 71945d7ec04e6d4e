"""What `up --sandbox` made, booted for real: machines from their own user-data, in one network, a cloud around them."""
