"""The competitors, as strong as a specialist would fit them, behind the interface of our surrogates."""
