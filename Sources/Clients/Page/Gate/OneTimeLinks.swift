import HTTPServing

/// The links that give a browser access to the page. Each link works once.
struct OneTimeLinks: Sendable {
    private var unused: [Secret] = []

    /// The maximum number of unused links. At this number, a new link replaces the oldest one.
    static let most = 16

    /// Adds a link and returns its secret.
    mutating func issue() -> Secret {
        let secret = Secret()
        unused.append(secret)
        if unused.count > Self.most { unused.removeFirst() }
        return secret
    }

    /// Returns whether `candidate` is the secret of an unused link. If so, the link becomes invalid.
    mutating func take(_ candidate: String) -> Bool {
        guard let index = unused.firstIndex(where: { $0.matches(candidate) }) else { return false }
        unused.remove(at: index)
        return true
    }
}
