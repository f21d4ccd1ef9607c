"""How strong the tests are: changed expressions, found again after a move, and the tests that notice them."""
