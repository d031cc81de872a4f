"""Date and number formats by locale, for templates and the admin site."""
