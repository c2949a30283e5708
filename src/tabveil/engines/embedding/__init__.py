"""Rows as vectors, learned by contrast: what is left of a row must be told from all other rows.

See docs/definitions.md, Contrastive space.
"""

from tabveil.engines.embedding.embedding import Embedding, EmbeddingModel, FrameEmbedder
from tabveil.engines.embedding.settings import ContrastiveSettings

__all__ = ["ContrastiveSettings", "Embedding", "EmbeddingModel", "FrameEmbedder"]
