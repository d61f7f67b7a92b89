import NightshiftAPI
import Store

/// Doubts about the first response to a download, when the service knows only the name of the file.
extension SuspectResponses {
    /// The number of consecutive web pages, received instead of a file of another kind, after which a page is accepted
    /// as the file.
    package static let enoughPages = 2

    /// Decides whether a web page is trusted as the first response to a download.
    ///
    /// While a captive portal is active, no page is trusted. Otherwise a page is suspect if the file's extension is one
    /// that pages never have. A later request can show whether the extension or the page is right.
    ///
    /// - Returns: nil if the page is trusted; otherwise the state to remember for the next response, and a reason for
    ///   display.
    static func firstDoubt(
        _ head: ResponseHead, _ policy: ResponsePolicy
    ) -> (doubt: SuspectResponse, failure: TransferFailure)? {
        guard (200...299).contains(head.status), head.status != 206, head.method == "GET", isPage(head.mediaType),
            !policy.asksConditionally
        else { return nil }
        guard policy.isBehindPortal || contradictsName(head, policy) else { return nil }
        let fingerprint = "first \(head.status) page"
        let known = policy.firstDoubt?.fingerprint == fingerprint ? policy.firstDoubt?.times ?? 0 : 0
        // A page from a mirror, or one received while a captive portal is active, says nothing about the file's own
        // server.
        let times = policy.isBehindPortal || !policy.asksOwnURL ? known : known + 1
        guard policy.isBehindPortal || times < enoughPages else { return nil }
        return (SuspectResponse(fingerprint: fingerprint, times: times), firstFailure(head, policy))
    }

    /// Returns whether the response is a web page although the file's name has an extension that pages never have.
    static func contradictsName(_ head: ResponseHead, _ policy: ResponsePolicy) -> Bool {
        isPage(head.mediaType) && policy.expectedName.map(namesNoPage) ?? false
    }

    /// Returns whether a file with this name is never a web page, judged by its extension.
    static func namesNoPage(_ name: String) -> Bool {
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return false }
        return endings.contains(name[name.index(after: dot)...].lowercased())
    }

    private static func firstFailure(_ head: ResponseHead, _ policy: ResponsePolicy) -> TransferFailure {
        let size = head.contentLength.map { " of \($0) bytes" } ?? ""
        let wanted = contradictsName(head, policy) ? policy.expectedName.map { " instead of \($0)" } ?? "" : ""
        let next =
            policy.isBehindPortal
            ? "The network requires a log-in, so this may be its log-in page. Log in; the request is then repeated."
            : "The request is repeated later. If the response is a web page again, the page is saved."
        return TransferFailure(
            .resourceChanged, "The server answered with a web page\(size)\(wanted). \(next)", status: head.status)
    }

    /// Extensions of archives, disk images, packages, documents, pictures, sound, video, fonts and data.
    private static let endings: Set<String> = [
        "7z", "apk", "appimage", "avi", "avif", "bin", "bz2", "csv", "deb", "dmg", "doc", "docx", "epub", "exe", "flac",
        "flatpak", "gif", "gz", "heic", "img", "ipa", "iso", "jar", "jpeg", "jpg", "json", "lz4", "m4a", "m4v", "mkv",
        "mov", "mp3", "mp4", "mpg", "msi", "odp", "ods", "odt", "ogg", "ogv", "opus", "otf", "parquet", "pdf", "pkg",
        "png", "ppt", "pptx", "qcow2", "rar", "rpm", "sig", "snap", "sqlite", "tar", "tgz", "tif", "tiff", "torrent",
        "ttf", "txz", "vdi", "vmdk", "wav", "webm", "webp", "whl", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
    ]
}
