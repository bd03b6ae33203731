"""The K-profile parameterisation, part by part."""
