"""A site from its position: weather, water, depth, waves and tides from files or services."""
