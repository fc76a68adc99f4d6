"""Rules of family PD9: releases."""
