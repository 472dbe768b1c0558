"""What of a worker's frontier outlives the process: its log, checkpoints, parcels, and who reads them back."""
