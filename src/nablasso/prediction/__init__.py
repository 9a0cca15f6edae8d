"""What will y be: functions of the columns found, from few rows or from all."""
