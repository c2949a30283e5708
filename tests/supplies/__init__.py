"""What tests share: tables, files and reports made by hand, and ways to run and to read what is tested."""
