import NightshiftAPI

extension TaskStatus {
    /// The number of bytes of texts whose length clients and servers choose, including the JSON around them. This is
    /// about the size of the task in a response.
    var textBytes: Int {
        let texts: [String?] = [
            url, currentURL, description, clientData, source, destination?.directory, destination?.filename, file,
            wait?.detail, wait?.failure?.message, lastError?.message, error?.message,
        ]
        return texts.reduce(Self.plainBytes) { $0 + ($1?.utf8.count ?? 0) } + (response?.textBytes ?? 0)
            + (informationalResponse?.textBytes ?? 0)
    }

    /// The number of bytes of a task without long texts.
    private static let plainBytes = 1_024
}

extension ResponseSummary {
    fileprivate var textBytes: Int {
        headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + Self.fieldBytes }
    }

    /// The number of JSON bytes around the name and the value of a field.
    private static let fieldBytes = 24
}
