"""What people ask for by name: registries, named settings, the files that hold them."""
