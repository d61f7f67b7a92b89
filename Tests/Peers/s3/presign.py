import sys

from client import BUCKET, client

port, verb, key = int(sys.argv[1]), sys.argv[2], sys.argv[3]
seconds = int(sys.argv[4]) if len(sys.argv) > 4 else 3600
print(client(port).generate_presigned_url(f"{verb}_object", {"Bucket": BUCKET, "Key": key}, ExpiresIn=seconds))
