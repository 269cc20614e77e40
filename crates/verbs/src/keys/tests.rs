//! The table of keys against a model that remembers every key that ever was.
