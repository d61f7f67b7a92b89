/// A link that lets one browser in, once.
struct OneTimeLink: Sendable {
    let secret: Secret
    private var isUsed = false

    init(secret: Secret) {
        self.secret = secret
    }

    /// Whether whoever shows `candidate` is let in. Only the right one uses the link up.
    mutating func take(_ candidate: String) -> Bool {
        guard !isUsed, secret.matches(candidate) else { return false }
        isUsed = true
        return true
    }
}
