"""Where models live: `connect(spec)` gives a tinker.ServiceClient for the cloud, for a URL, or for a server of our own."""
