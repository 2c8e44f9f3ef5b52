import java.io.FileInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.verapdf.gf.foundry.VeraGreenfieldFoundryProvider;
import org.verapdf.pdfa.Foundries;
import org.verapdf.pdfa.PDFAParser;
import org.verapdf.pdfa.PDFAValidator;
import org.verapdf.pdfa.flavours.PDFAFlavour;
import org.verapdf.pdfa.results.TestAssertion;

/**
 * Validates statements as PDF with veraPDF: each conforms to PDF/A-2u, and but for the name of the standard in its
 * metadata also to PDF/A-2a and PDF/UA-1, which have the rules for tags.
 *
 *   java Conforms.java FOLDER
 */
public class Conforms {
    /** The standards, each with the rule about its name where the file states another. */
    private static final String[][] STANDARDS = {{"2u", ""}, {"2a", "6.6.4"}, {"ua1", "5"}};

    public static void main(String[] args) throws Exception {
        Logger.getLogger("").setLevel(Level.SEVERE);
        VeraGreenfieldFoundryProvider.initialise();
        List<Path> files;
        try (Stream<Path> all = Files.list(Path.of(args[0]))) {
            files = all.filter(it -> it.toString().endsWith(".pdf")).sorted().toList();
        }
        List<String> broken = new ArrayList<>();
        for (Path file : files) {
            for (String[] standard : STANDARDS) {
                broken.addAll(broken(file, standard[0], standard[1]));
            }
        }
        broken.forEach(System.err::println);
        if (!broken.isEmpty()) {
            System.exit(1);
        }
        System.out.println(files.size() + " statements conform to PDF/A-2u and are tagged");
    }

    /** The rules of a standard that a file breaks, except one. */
    private static List<String> broken(Path file, String standard, String except) throws Exception {
        PDFAFlavour flavour = PDFAFlavour.fromString(standard);
        List<String> broken = new ArrayList<>();
        try (InputStream in = new FileInputStream(file.toFile());
                PDFAParser parser = Foundries.defaultInstance().createParser(in, flavour);
                PDFAValidator validator = Foundries.defaultInstance().createValidator(flavour, false)) {
            for (TestAssertion it : validator.validate(parser).getTestAssertions()) {
                String clause = it.getRuleId().getClause();
                if (it.getStatus() == TestAssertion.Status.FAILED && !clause.equals(except)) {
                    String where = it.getLocation().getContext();
                    broken.add(file + ": " + standard + " " + clause + ": " + it.getMessage() + " " + where);
                }
            }
        }
        return broken;
    }
}
