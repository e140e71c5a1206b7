"""pdlaunch: prefill/decode-disaggregated SGLang serving with an honest configuration."""

__version__ = "0.1.0"
