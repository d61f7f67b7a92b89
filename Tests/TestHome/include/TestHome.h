// A home of their own for tests: see home.c. Nothing is called.
