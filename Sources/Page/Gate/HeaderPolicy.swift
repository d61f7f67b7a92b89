/// The header fields that every answer carries, so that a browser holds the page to what it is.
enum HeaderPolicy {
    /// Script, style and pictures from here alone, none of it inline; nothing framed, embedded or sent anywhere else. Strings
    /// never become markup or script, not even by mistake (Trusted Types).
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

    /// The types in which the service answers; anything else is bytes to a browser.
    static func contentType(_ type: String?) -> String {
        guard let type,
            ["application/json", "application/problem+json", "text/event-stream", "image/png"].contains(type)
        else {
            return type?.hasPrefix("text/plain") == true ? "text/plain; charset=utf-8" : "application/octet-stream"
        }
        return type
    }
}
