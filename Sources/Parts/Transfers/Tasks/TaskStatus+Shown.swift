package import NightshiftAPI

extension TaskStatus {
    /// The task as clients see it in lists: without secret values, and with `…` for a query that may contain a secret.
    package var shown: TaskStatus {
        var copy = self
        copy.url = Redaction.url(url)
        copy.currentURL = currentURL.map(Redaction.url)
        copy.response = response?.shown
        copy.informationalResponse = informationalResponse?.shown
        return copy
    }
}

extension ResponseSummary {
    fileprivate var shown: ResponseSummary {
        var copy = self
        copy.headers = headers.map(\.shown)
        copy.redirectCookies = nil
        return copy
    }
}
