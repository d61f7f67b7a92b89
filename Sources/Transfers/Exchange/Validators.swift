import NightshiftAPI

/// What tells one version of a representation from another (RFC 9110, section 8.8).
package struct Validators: Hashable, Sendable, Codable {
    /// The whole field value, quotes and `W/` included.
    package var entityTag: String?
    package var lastModified: String?
    /// The response's `Date`, which decides whether `lastModified` is strong (RFC 9110, section 8.8.2.2).
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
    /// The entity tag, if it changes with every change of the bytes; nil for weak and malformed ones.
    package var strongEntityTag: String? {
        guard let tag = entityTag.flatMap(EntityTag.init(field:)), !tag.isWeak else { return nil }
        return entityTag
    }

    /// Last-Modified, if the file cannot have changed again within the same second (RFC 9110, section 8.8.2.2).
    package var strongLastModified: String? {
        guard let lastModified, let date, let changed = HTTPDate.parse(lastModified), let sent = HTTPDate.parse(date),
            sent - changed >= 1
        else { return nil }
        return lastModified
    }

    /// Whether both cannot belong to the same bytes.
    ///
    /// Entity tags that both name decide: strong ones by being equal, weak ones by their opaque parts; a strong and a
    /// weak one are never the same. A different Last-Modified counts unless a common strong tag outweighs it, as with
    /// servers behind one address whose copies have different dates.
    package func contradicts(_ other: Validators) -> Bool {
        if let ours = entityTag, let theirs = other.entityTag {
            guard Self.sameTag(ours, theirs) else { return true }
            if strongEntityTag != nil { return false }
        }
        guard let ours = lastModified, let theirs = other.lastModified else { return false }
        return !Self.sameDate(ours, theirs)
    }

    /// Whether a response with the validators `other` is known to carry the same bytes as these.
    ///
    /// A common strong entity tag or a common Last-Modified that is strong proves it (RFC 9110, section 15.3.7.3). Nothing
    /// weak does: a weak tag may stay while bytes change, a date of the same second as the response too, and so may both.
    package func confirms(_ other: Validators) -> Bool {
        guard !contradicts(other) else { return false }
        let sharesTag = entityTag != nil && other.entityTag != nil
        if sharesTag, strongEntityTag != nil { return true }
        return strongLastModified != nil && other.lastModified != nil
    }

    /// Whether `other` has the same strong entity tag and the same strong Last-Modified.
    package func confirmsTwice(_ other: Validators) -> Bool {
        guard let tag = strongEntityTag, tag == other.strongEntityTag, let date = strongLastModified,
            let theirs = other.lastModified
        else { return false }
        return Self.sameDate(date, theirs)
    }

    /// Whether bytes with these validators can be told from another version's, so that they can be continued.
    package var identifyBytes: Bool { confirms(self) }

    /// These, completed by what only the confirming response `other` names. Last-Modified and Date stay a pair.
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
    /// What stands between the quotes.
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
