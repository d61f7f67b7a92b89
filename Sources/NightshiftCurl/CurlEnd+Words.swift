import CNightshift

extension CurlEnd {
    /// What libcurl left in an exchange's error text, without how long it took: a fault that comes back is told in the
    /// same words, so that it is seen to be the same. The code's own words where there is no text.
    static func words(_ errorText: UnsafePointer<CChar>, _ code: CURLcode) -> String {
        let text = String(cString: errorText)
        guard !text.isEmpty else { return String(cString: curl_easy_strerror(code)) }
        return text.replacing(#/ after \d+ (ms|milliseconds)/#, with: "")
    }
}
