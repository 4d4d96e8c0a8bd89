"""Where models live: `connect(spec)` gives a tinker.ServiceClient for the cloud, a URL, or a server of our own."""
