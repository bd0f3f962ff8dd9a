# Installation: libraries, headers, tools and the package files that let
# another project say find_package(Tinh).
