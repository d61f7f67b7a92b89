import CNightshift
import NightshiftCurl
import Transfers

extension FailurePoint.Stage {
    /// How far a request came that failed.
    init(_ end: CurlEnd, of request: CurlRequest) {
        let code = CURLcode(UInt32(bitPattern: end.code))
        let hasProxy = !(request.proxy ?? "").isEmpty
        if end.proxyRefused {
            self = .address
        } else if end.refusedTunnel != nil {
            // It works, and wants another name or password than this request's.
            self = .server
        } else if code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_PROXY {
            self = .proxy
        } else if code == CURLE_COULDNT_RESOLVE_HOST {
            self = .address
        } else if end.phase <= .connecting || code == CURLE_COULDNT_CONNECT {
            // The proxy is looked up and connected to; the server is the proxy's business.
            self = hasProxy ? .proxy : .address
        } else {
            self = end.phase == .securing ? .address : .server
        }
    }
}
