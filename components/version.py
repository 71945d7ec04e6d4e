"""Version of the project and of the component package."""

VERSION = "0.1.0"
