"""What every sandbox must do, one small check for each behaviour. `self_check.run_self_check` runs them."""
