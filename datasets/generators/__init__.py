"""Generated data sets.

definitions  the sets by name, from a seed
documents    sets like RCV1: sparse term weights of documents
"""

from svmrepro.datasets.generators.definitions import (
    GENERATOR_VERSION,
    GENERATORS,
    generate,
    generator_key,
    is_whole,
)

__all__ = ["GENERATORS", "GENERATOR_VERSION", "generate", "generator_key", "is_whole"]
