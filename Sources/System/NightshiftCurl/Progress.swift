import CNightshift
import Glibc

/// The number of bytes moved so far, as counted by libcurl and the kernel. Two values are only compared with each
/// other.
struct Progress: Equatable {
    var received: Int64 = 0
    private var sent: Int64 = 0
    private var steps: Int64 = 0
    /// The number of sent bytes that the peer has not acknowledged. Only this number shows the progress of an upload's
    /// last bytes.
    private var unsent: Int32 = 0

    init() {}

    /// Makes the progress of a body that is moved without libcurl.
    init(missing: Int64) {
        received = -missing
    }

    init(_ easy: UnsafeMutableRawPointer) {
        received = Self.offset(easy, CURLINFO_SIZE_DOWNLOAD_T)
        sent = Self.offset(easy, CURLINFO_SIZE_UPLOAD_T)
        steps =
            Self.offset(easy, CURLINFO_NAMELOOKUP_TIME_T) &+ Self.offset(easy, CURLINFO_CONNECT_TIME_T)
            &+ Self.offset(easy, CURLINFO_APPCONNECT_TIME_T) &+ Self.long(easy, CURLINFO_HEADER_SIZE)
            &+ Self.long(easy, CURLINFO_REQUEST_SIZE)
        var socket: curl_socket_t = -1
        if nightshift_curl_get_socket(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0 {
            _ = ioctl(socket, UInt(TIOCOUTQ), &unsent)
        }
    }

    static func offset(_ easy: UnsafeMutableRawPointer, _ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return nightshift_curl_get_offset(easy, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    static func long(_ easy: UnsafeMutableRawPointer, _ info: CURLINFO) -> Int64 {
        var value = 0
        return nightshift_curl_get_long(easy, info, &value) == CURLE_OK ? Int64(value) : 0
    }
}
