"""The self-service portal: a Django application on which teams ask for clusters within the platform team's limits."""
