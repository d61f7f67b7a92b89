/// The links that let a browser in, each once.
struct OneTimeLinks: Sendable {
    private var unused: [Secret] = []

    /// The most unused links. A new link then replaces the oldest one.
    static let most = 16

    /// Adds a link and returns its secret.
    mutating func issue() -> Secret {
        let secret = Secret()
        unused.append(secret)
        if unused.count > Self.most { unused.removeFirst() }
        return secret
    }

    /// Whether `candidate` is the secret of an unused link. If so, the link is used up.
    mutating func take(_ candidate: String) -> Bool {
        guard let index = unused.firstIndex(where: { $0.matches(candidate) }) else { return false }
        unused.remove(at: index)
        return true
    }
}
