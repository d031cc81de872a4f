"""How dates are written where a template does not say: as everywhere else on the site."""
