/// The header fields of every response, by which browsers restrict the page.
enum HeaderPolicy {
    /// The content security policy. It allows scripts, styles and pictures from this server only, and forbids inline
    /// scripts, frames and requests to other servers. Trusted Types prevent a string from becoming markup or script by
    /// mistake.
    static let contentSecurity = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    static let fields: [(name: String, value: String)] = [
        ("Content-Security-Policy", contentSecurity),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Embedder-Policy", "require-corp"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
        ("Cache-Control", "no-store"),
    ]

    /// Returns the media type if it is one that the service uses. Otherwise returns the type of a byte stream, which a
    /// browser does not interpret.
    static func contentType(_ type: String?) -> String {
        guard let type,
            ["application/json", "application/problem+json", "text/event-stream", "image/png"].contains(type)
        else {
            return type?.hasPrefix("text/plain") == true ? "text/plain; charset=utf-8" : "application/octet-stream"
        }
        return type
    }
}
