import CNightshift
import NightshiftCurl
import Transfers

extension FailurePoint.Stage {
    /// Returns the stage that a failed request reached.
    init(_ end: CurlEnd, of request: CurlRequest) {
        let code = CURLcode(UInt32(bitPattern: end.code))
        let hasProxy = !(request.proxy ?? "").isEmpty
        if end.proxyRefused {
            self = .address
        } else if end.refusedTunnel != nil {
            // The proxy works, but rejects this request's name or password.
            self = .server
        } else if code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_PROXY {
            self = .proxy
        } else if code == CURLE_COULDNT_RESOLVE_HOST {
            self = .address
        } else if end.phase <= .connecting || code == CURLE_COULDNT_CONNECT {
            // Only the proxy's address is resolved here. The proxy resolves the address of the server.
            self = hasProxy ? .proxy : .address
        } else {
            self = end.phase == .securing ? .address : .server
        }
    }
}
