"""The policy pack: rules that previews and updates of a cluster must keep, and the plugin that runs them."""
