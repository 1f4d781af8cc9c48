"""The steps of an experiment: record, explore, recover, inject faults, judge."""
