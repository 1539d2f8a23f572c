"""Tests of the suite that judges implementations: that it bites, that it is fair, and what it writes."""
