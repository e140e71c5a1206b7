"""The catalogue: every declared knob, as shipped and as this site and this user add to it.

Adding a knob is adding an entry to one of the YAML files here.
"""

from launcher.knobs.catalogue.layers import Catalogue, Entry, catalogue, layer
from launcher.knobs.catalogue.places import local_files, shipped_files

__all__ = ["Catalogue", "Entry", "catalogue", "layer", "local_files", "shipped_files"]
