package isolde.replay;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Objects that are arguments, made of the fields that a scenario has values for. */
final class Beans {
    /**
     * By the constructor that takes most of the fields by their names and nothing else, or the shortest
     * one, with nought for what is not known. Fields that it did not take are set after it.
     */
    static Object make(Class<?> type, List<?> namesAndValues) throws Exception {
        Map<String, Object> fields = new HashMap<>();
        for (int at = 0; at + 1 < namesAndValues.size(); at += 2) {
            fields.put(String.valueOf(namesAndValues.get(at)), namesAndValues.get(at + 1));
        }
        Constructor<?>[] all = type.getDeclaredConstructors();
        if (all.length == 0 || Modifier.isAbstract(type.getModifiers())) {
            throw new IllegalArgumentException("no " + type.getName() + " can be made");
        }
        Comparator<Constructor<?>> best = Comparator.comparingInt(one -> score(one, fields));
        Constructor<?> chosen = Arrays.stream(all).max(best).get();
        chosen.setAccessible(true);
        Parameter[] parameters = chosen.getParameters();
        Object[] given = new Object[parameters.length];
        for (int at = 0; at < parameters.length; at++) {
            Object value = fields.remove(parameters[at].getName());
            given[at] = Values.as(value, parameters[at].getParameterizedType());
        }
        Object made = chosen.newInstance(given);
        set(made, fields);
        return made;
    }

    /** Two for each field that it takes, less three for each parameter that is none. */
    private static int score(Constructor<?> one, Map<String, Object> fields) {
        int score = 0;
        for (Parameter parameter : one.getParameters()) {
            score += fields.containsKey(parameter.getName()) ? 2 : -3;
        }
        return score;
    }

    private static void set(Object made, Map<String, Object> fields) throws Exception {
        for (Class<?> type = made.getClass(); type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (fields.containsKey(field.getName()) && !Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    field.set(made, Values.as(fields.get(field.getName()), field.getGenericType()));
                }
            }
        }
    }

    private Beans() {}
}
