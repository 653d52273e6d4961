"""Generated data sets.

distributions  the sets by name, from a seed
documents      sets like RCV1: sparse term weights of documents
"""

from svmrepro.datasets.generators.distributions import (
    GENERATOR_VERSION,
    GENERATORS,
    generate,
    generator_key,
    is_whole,
)

__all__ = ["GENERATORS", "GENERATOR_VERSION", "generate", "generator_key", "is_whole"]
