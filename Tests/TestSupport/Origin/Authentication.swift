import Foundation

/// The authentication of an origin, which requests and checks credentials (RFC 7617, and RFC 7616 with `qop=auth`).
enum Authentication {
    case basic(user: String, password: String)
    case digest(user: String, password: String, DigestAlgorithm)

    private static let realm = "origin"

    /// Returns the 401 to a request without the right credentials, or nil for a request with them.
    func refusal(of request: OriginRequest, _ nonces: inout Set<String>) -> ResponsePlan? {
        let given = request.field("Authorization") ?? ""
        switch self {
        case .basic(let user, let password):
            if given == "Basic \(Array("\(user):\(password)".utf8).base64)" { return nil }
            return Self.challenge("Basic realm=\"\(Self.realm)\"")
        case .digest(let user, let password, let algorithm):
            let parameters = Self.parameters(of: given)
            let isKnown = parameters["nonce"].map { nonces.contains($0) } ?? false
            if isKnown && Self.isRight(parameters, request, user, password, algorithm) { return nil }
            let nonce = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
            nonces.insert(nonce)
            let stale = parameters["nonce"] != nil && !isKnown ? ", stale=true" : ""
            return Self.challenge(
                "Digest realm=\"\(Self.realm)\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=\(algorithm.rawValue)\(stale)"
            )
        }
    }

    private static func challenge(_ value: String) -> ResponsePlan {
        ResponsePlan(status: 401, fields: [HTTPField("WWW-Authenticate", value)], text: "who are you?\n")
    }

    private static func isRight(
        _ given: [String: String], _ request: OriginRequest, _ user: String, _ password: String,
        _ algorithm: DigestAlgorithm
    ) -> Bool {
        guard given["username"] == user, given["realm"] == realm, given["uri"] == request.target,
            given["qop"] == "auth", let nonce = given["nonce"], let count = given["nc"], let cnonce = given["cnonce"]
        else { return false }
        let secret = algorithm.hash("\(user):\(realm):\(password)")
        let what = algorithm.hash("\(request.method):\(request.target)")
        return given["response"] == algorithm.hash("\(secret):\(nonce):\(count):\(cnonce):auth:\(what)")
    }

    /// Returns the `name=value` and `name="value"` pairs after the scheme.
    private static func parameters(of value: String) -> [String: String] {
        var found: [String: String] = [:]
        var rest = value.drop { $0 != " " }
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].filter { $0 != "," && $0 != " " }
            rest = rest[rest.index(after: equals)...]
            let text: Substring
            if rest.first == "\"" {
                text = rest.dropFirst().prefix { $0 != "\"" }
                rest = rest.dropFirst(text.count + 2)
            } else {
                text = rest.prefix { $0 != "," }
                rest = rest.dropFirst(text.count)
            }
            found[name.lowercased()] = String(text)
        }
        return found
    }
}
