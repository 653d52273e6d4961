"""Training algorithms for support vector machines, and the certificate that judges them."""
