import JWTKit
import NIOHTTP2
import NIOSSL
import X509
