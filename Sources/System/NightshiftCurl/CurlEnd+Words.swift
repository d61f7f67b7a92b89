import CNightshift

extension CurlEnd {
    /// Returns libcurl's error text for an exchange, without durations, so that a repeated failure has the same
    /// message. If libcurl has no text, the general message of the code is returned.
    static func words(_ errorText: UnsafePointer<CChar>, _ code: CURLcode) -> String {
        let text = String(cString: errorText)
        guard !text.isEmpty else { return String(cString: curl_easy_strerror(code)) }
        return text.replacing(#/ after \d+ (ms|milliseconds)/#, with: "")
    }
}
