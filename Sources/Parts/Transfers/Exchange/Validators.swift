import NightshiftAPI

/// The validators of a representation, which identify its version (RFC 9110, section 8.8).
package struct Validators: Hashable, Sendable, Codable {
    /// The whole field value, including quotes and `W/`.
    package var entityTag: String?
    package var lastModified: String?
    /// The `Date` of the response, which decides whether `lastModified` is strong (RFC 9110, section 8.8.2.2).
    package var date: String?

    package init(entityTag: String? = nil, lastModified: String? = nil, date: String? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.date = date
    }

    package init(head: ResponseHead) {
        self.init(
            entityTag: Self.value("ETag", in: head), lastModified: Self.value("Last-Modified", in: head),
            date: Self.value("Date", in: head))
    }

    private static func value(_ name: String, in head: ResponseHead) -> String? {
        guard let value = head.headers.first(name)?.trimmedOfBlanks, !value.isEmpty else { return nil }
        return value
    }
}

extension Validators {
    /// The entity tag if it is strong; nil for weak and malformed entity tags.
    package var strongEntityTag: String? {
        guard let tag = entityTag.flatMap(EntityTag.init(field:)), !tag.isWeak else { return nil }
        return entityTag
    }

    /// The Last-Modified value if it is strong: the file cannot have changed again within the same second (RFC 9110,
    /// section 8.8.2.2).
    package var strongLastModified: String? {
        guard let lastModified, let date, let changed = HTTPDate.parse(lastModified), let sent = HTTPDate.parse(date),
            sent - changed >= 1
        else { return nil }
        return lastModified
    }

    /// Returns whether these validators and `other` cannot belong to the same bytes.
    ///
    /// If both have entity tags, the tags decide: strong ones by equality, weak ones by their opaque parts. A strong
    /// and a weak tag never match. A different Last-Modified is a contradiction unless both have the same strong tag,
    /// as with several servers at one address whose copies have different dates.
    package func contradicts(_ other: Validators) -> Bool {
        if let ours = entityTag, let theirs = other.entityTag {
            guard Self.sameTag(ours, theirs) else { return true }
            if strongEntityTag != nil { return false }
        }
        guard let ours = lastModified, let theirs = other.lastModified else { return false }
        return !Self.sameDate(ours, theirs)
    }

    /// Returns whether a response with the validators `other` is known to carry the same bytes as a response with these
    /// validators.
    ///
    /// A common strong entity tag or a common strong Last-Modified proves that the bytes are the same (RFC 9110,
    /// section 15.3.7.3). Weak validators do not: a weak tag, or a date in the second of the response, may stay the
    /// same while bytes change.
    package func confirms(_ other: Validators) -> Bool {
        guard !contradicts(other) else { return false }
        let sharesTag = entityTag != nil && other.entityTag != nil
        if sharesTag, strongEntityTag != nil { return true }
        return strongLastModified != nil && other.lastModified != nil
    }

    /// Returns whether `other` has the same strong entity tag and the same strong Last-Modified.
    package func confirmsTwice(_ other: Validators) -> Bool {
        guard let tag = strongEntityTag, tag == other.strongEntityTag, let date = strongLastModified,
            let theirs = other.lastModified
        else { return false }
        return Self.sameDate(date, theirs)
    }

    /// Whether these validators can distinguish the bytes from another version, so that the download can continue from
    /// the bytes.
    package var identifyBytes: Bool { confirms(self) }

    /// Returns these validators, completed with those that only the confirming response `other` has. Last-Modified and
    /// Date always come from the same response.
    package func completed(by other: Validators) -> Validators {
        let dates = lastModified == nil ? other : self
        return Validators(
            entityTag: entityTag ?? other.entityTag, lastModified: dates.lastModified, date: dates.date)
    }

    private static func sameTag(_ left: String, _ right: String) -> Bool {
        guard let left = EntityTag(field: left), let right = EntityTag(field: right) else { return left == right }
        return left == right
    }

    private static func sameDate(_ left: String, _ right: String) -> Bool {
        guard let left = HTTPDate.parse(left), let right = HTTPDate.parse(right) else { return left == right }
        return left == right
    }
}

/// An entity tag (RFC 9110, section 8.8.3).
private struct EntityTag: Equatable {
    var isWeak: Bool
    /// The text between the quotes.
    var opaque: ArraySlice<UInt8>

    init?(field: String) {
        var scanner = FieldScanner(field)
        isWeak = field.utf8.starts(with: "W/".utf8)
        if isWeak {
            scanner.advance()
            scanner.advance()
        }
        guard scanner.consume("\"") else { return nil }
        opaque = scanner.consume(until: { $0 < 0x21 || $0 == 0x22 || $0 == 0x7F })
        guard scanner.consume("\""), scanner.isAtEnd else { return nil }
    }
}
