"""A client for the S3 server of moto. Its keys are arbitrary, because moto does not check them."""

import botocore.config
import botocore.session

BUCKET = "uploads"


def client(port: int):
    return botocore.session.get_session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id="nightshift",
        aws_secret_access_key="nightshift",
        config=botocore.config.Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )
