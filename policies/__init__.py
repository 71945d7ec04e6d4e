"""The policy pack: what no preview or update of a cluster may contain, as pure rules and a thin plugin around them."""
