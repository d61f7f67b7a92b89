# Sourced by what needs the Python environment of S3, with `here` set to this folder.
source "$here/../environment.sh"
packages=('moto[s3,server]==5.2.5' botocore==1.44.5)
