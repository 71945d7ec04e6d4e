"""The component package for programs in any Pulumi language: its schema and its functions."""
